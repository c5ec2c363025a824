"""What people would use instead of GraphReader: readers without a graph, behind one protocol."""
