"""``hindmost extender``: an extender of kube-scheduler."""
