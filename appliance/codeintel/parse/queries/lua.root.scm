(chunk (variable_declaration (assignment_statement (variable_list name: (identifier) @n.variable))))
