"""Published facts of five papers: values, protocols, claims, equations, figures; their reader.

The facts are in YAML files under `data/`. No number is repeated in code.
"""
