"""Every table of the paper is one command: conditions, runs, statistics, tables, a page."""
