"""What sparse judgments hide: targets from a part of the positives against those from all of them.

``masks`` says what is kept, ``design`` runs assignments x masks x weights x replicates, ``kernel`` is its
inner loop, ``summary`` makes the statistics, ``result`` the tables and ``drawing`` the figures.
"""
