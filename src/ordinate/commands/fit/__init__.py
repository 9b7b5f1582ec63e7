"""``ordinate fit`` in five stages: read, plan, choose, train, write. The module ``command`` calls them."""
