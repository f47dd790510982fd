(source_file (property_declaration name: (pattern (simple_identifier) @n.variable)))
