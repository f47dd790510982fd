(source_file (property_declaration (variable_declaration (identifier) @n.variable)))
