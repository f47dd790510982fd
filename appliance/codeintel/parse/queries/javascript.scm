(class_declaration) @d.class
(class name: (_)) @d.class
(function_declaration) @d.function
(generator_function_declaration) @d.function
(method_definition) @d.method
(variable_declarator name: (identifier) value: [(arrow_function) (function_expression) (generator_function)]) @d.function
(variable_declarator name: (identifier) value: (class)) @d.class
(assignment_expression left: [(identifier) (member_expression)] right: [(arrow_function) (function_expression)]) @d.function
(assignment_expression left: [(identifier) (member_expression)] right: (class)) @d.class
(pair key: (property_identifier) value: [(arrow_function) (function_expression)]) @d.method
(field_definition) @d.field
(export_statement "default" value: [(arrow_function) (function_expression) (class) (object)] @d.default)

(call_expression function: [(identifier) (member_expression)] @r.call)
(new_expression constructor: [(identifier) (member_expression)] @r.call)
(class_heritage [(identifier) (member_expression)] @r.inherit)
(decorator [(identifier) (member_expression)] @r.name)
(jsx_opening_element name: [(identifier) (member_expression)] @r.call)
(jsx_self_closing_element name: [(identifier) (member_expression)] @r.call)

(import_statement) @import
(export_statement source: (string)) @import
(variable_declarator value: (call_expression function: (identifier) arguments: (arguments . (string)))) @import.require
(expression_statement (call_expression function: (identifier) arguments: (arguments . (string)))) @import.require
