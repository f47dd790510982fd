(class_declaration declaration_kind: "class") @d.class
(class_declaration declaration_kind: "actor") @d.class
(class_declaration declaration_kind: "struct") @d.struct
(class_declaration declaration_kind: "enum") @d.enum
(class_declaration declaration_kind: "extension") @scope
(protocol_declaration) @d.interface
(function_declaration) @d.function
(protocol_function_declaration) @d.method
(init_declaration) @d.constructor
(typealias_declaration) @d.type
(enum_entry name: (simple_identifier) @n.constant)
(class_body (property_declaration name: (pattern (simple_identifier) @n.property)))


(call_expression . [(simple_identifier) (navigation_expression)] @r.call)
(inheritance_specifier inherits_from: (user_type) @r.inherit)
(parameter (user_type) @r.type)
(type_annotation (user_type) @r.type)
(function_declaration (user_type) @r.type)
(attribute (user_type) @r.name)

(import_declaration) @import
