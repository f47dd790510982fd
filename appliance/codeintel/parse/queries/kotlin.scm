(class_declaration) @d.class
(class_declaration "interface") @d.interface
(class_declaration (enum_class_body)) @d.enum
(companion_object) @d.class
(object_declaration) @d.class
(function_declaration) @d.function
(secondary_constructor) @d.constructor
(type_alias) @d.type
(enum_entry (identifier) @n.constant)
(class_body (property_declaration (variable_declaration (identifier) @n.property)))
(class_parameter ["val" "var"] . (identifier) @n.property)


(call_expression . [(identifier) (navigation_expression)] @r.call)
(delegation_specifier (user_type) @r.inherit)
(delegation_specifier (constructor_invocation (user_type) @r.inherit))
(parameter (user_type) @r.type)
(class_parameter (user_type) @r.type)
(variable_declaration (user_type) @r.type)
(function_declaration (user_type) @r.type)
(annotation (user_type) @r.name)

(import) @import
