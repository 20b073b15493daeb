"""What the compiler reports: explanations, measurements, logs."""
