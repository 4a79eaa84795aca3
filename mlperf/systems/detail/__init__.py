"""What a prediction tells beside its means: distributions, elasticities, other forms of the equations, a simulation."""
