"""Loading of sources (files, folders, standard input) as documents."""
