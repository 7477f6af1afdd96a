"""The engines that are compared, each a module that runs as a process; see `engines.protocol`."""
