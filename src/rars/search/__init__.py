"""From a query to ranked items: beam search over legal children."""
