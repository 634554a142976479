"""Cell records (one per experiment), suite files, and suite files -> cells."""
