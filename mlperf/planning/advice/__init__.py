"""What to change in a recorded run, and what it will bring: facts, thresholds, rules, gains and sentences apart."""
