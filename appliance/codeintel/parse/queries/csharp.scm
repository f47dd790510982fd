(class_declaration) @d.class
(record_declaration) @d.class
(struct_declaration) @d.struct
(interface_declaration) @d.interface
(enum_declaration) @d.enum
(enum_member_declaration) @d.constant
(namespace_declaration) @d.namespace
(file_scoped_namespace_declaration) @d.namespace
(delegate_declaration) @d.type
(method_declaration) @d.method
(local_function_statement) @d.function
(constructor_declaration) @d.constructor
(property_declaration) @d.property
(event_declaration) @d.property
(event_field_declaration (variable_declaration (variable_declarator) @d.property))
(record_declaration (parameter_list (parameter name: (identifier) @n.property)))
(field_declaration (variable_declaration (variable_declarator) @d.field))

(invocation_expression function: [(identifier) (member_access_expression) (generic_name)] @r.call)
(invocation_expression function: (conditional_access_expression (member_binding_expression) @r.call))
(object_creation_expression type: [(identifier) (qualified_name) (generic_name)] @r.call)
(base_list [(identifier) (qualified_name) (generic_name)] @r.inherit)
(parameter type: [(identifier) (qualified_name) (generic_name)] @r.type)
(variable_declaration type: [(identifier) (qualified_name) (generic_name)] @r.type)
(method_declaration returns: [(identifier) (qualified_name) (generic_name)] @r.type)
(property_declaration type: [(identifier) (qualified_name) (generic_name)] @r.type)
(type_argument_list (identifier) @r.type)
(attribute name: (_) @r.name)

(using_directive) @import
