"""PL4xx and PL5xx: train and eval mode; parameters that are unused, frozen, replaced or shared."""
