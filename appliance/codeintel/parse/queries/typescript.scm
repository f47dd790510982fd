(class_declaration) @d.class
(abstract_class_declaration) @d.class
(class name: (_)) @d.class
(interface_declaration) @d.interface
(type_alias_declaration) @d.type
(enum_declaration) @d.enum
(enum_body name: (property_identifier) @n.constant)
(enum_body (enum_assignment name: (property_identifier) @n.constant))
(internal_module) @d.namespace
(module) @d.namespace
(function_declaration) @d.function
(function_signature) @d.function
(generator_function_declaration) @d.function
(method_definition) @d.method
(method_signature) @d.method
(abstract_method_signature) @d.method
(public_field_definition) @d.field
(property_signature) @d.property
(variable_declarator name: (identifier) value: [(arrow_function) (function_expression) (generator_function)]) @d.function
(variable_declarator name: (identifier) value: (class)) @d.class
(assignment_expression left: [(identifier) (member_expression)] right: [(arrow_function) (function_expression)]) @d.function
(pair key: (property_identifier) value: [(arrow_function) (function_expression)]) @d.method
(export_statement "default" value: [(arrow_function) (function_expression) (class) (object)] @d.default)
(internal_module (statement_block (export_statement (lexical_declaration (variable_declarator name: (identifier)) @d.variable))))

(call_expression function: [(identifier) (member_expression)] @r.call)
(new_expression constructor: [(identifier) (member_expression)] @r.call)
(extends_clause value: [(identifier) (member_expression)] @r.inherit)
(implements_clause [(type_identifier) (nested_type_identifier)] @r.inherit)
(implements_clause (generic_type name: (_) @r.inherit))
(extends_type_clause [(type_identifier) (nested_type_identifier)] @r.inherit)
(extends_type_clause (generic_type name: (_) @r.inherit))
(type_annotation [(type_identifier) (nested_type_identifier)] @r.type)
(generic_type name: [(type_identifier) (nested_type_identifier)] @r.type)
(type_arguments (type_identifier) @r.type)
(union_type (type_identifier) @r.type)
(array_type (type_identifier) @r.type)
(decorator [(identifier) (member_expression)] @r.name)

(import_statement) @import
(export_statement source: (string)) @import
(variable_declarator value: (call_expression function: (identifier) arguments: (arguments . (string)))) @import.require
(expression_statement (call_expression function: (identifier) arguments: (arguments . (string)))) @import.require
