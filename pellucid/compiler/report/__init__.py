"""What the compiler says of its work: explanations, measurements, logs."""
