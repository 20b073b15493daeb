"""Base classes and managers of passes (`torch.fx.passes.infra`)."""
