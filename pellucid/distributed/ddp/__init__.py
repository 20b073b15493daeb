"""What DistributedDataParallel does with gradients: buckets, and how they are averaged."""
