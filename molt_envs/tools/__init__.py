"""Tools that environments of several families share; each module is imported only where it is used."""
