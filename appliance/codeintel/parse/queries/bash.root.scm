(program (variable_assignment) @d.variable)
(program (declaration_command (variable_assignment) @d.variable))
