"""What the five papers printed: values, protocols, claims, equations, figures; and its reader.

The facts are the YAML files under `data/`; nothing here or elsewhere retypes a number of them.
"""
