(function_definition) @d.function
(program (variable_assignment) @d.variable)
(program (declaration_command (variable_assignment) @d.variable))

(command name: (command_name (word) @r.call))
