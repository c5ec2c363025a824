"""Taking decisions: what is asked, what is answered, and by whom."""
