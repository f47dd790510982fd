(program (lexical_declaration (variable_declarator name: (identifier)) @d.variable))
(program (variable_declaration (variable_declarator name: (identifier)) @d.variable))
(program (export_statement (lexical_declaration (variable_declarator name: (identifier)) @d.variable)))
(program (expression_statement (assignment_expression left: (member_expression)) @d.export))
