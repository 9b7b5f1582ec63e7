"""The papers again: their baselines, data sets, protocols, tables, recipes and published loops."""
