"""Who needs protecting: risk groups and neighbour counts."""
