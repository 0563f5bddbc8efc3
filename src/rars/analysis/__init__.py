"""The paper's studies of trees, evidence and predictions."""
