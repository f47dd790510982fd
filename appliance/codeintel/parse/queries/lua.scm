(function_declaration) @d.function
(assignment_statement (variable_list . name: [(identifier) (dot_index_expression)]) (expression_list . value: (function_definition))) @d.function
(field name: (identifier) value: (function_definition)) @d.function


(function_call name: [(identifier) (dot_index_expression) (method_index_expression)] @r.call)
(function_call name: (identifier) arguments: (arguments . (string))) @import.require
(variable_declaration (assignment_statement (variable_list) (expression_list value: (function_call name: (identifier) arguments: (arguments . (string)))))) @import.require
