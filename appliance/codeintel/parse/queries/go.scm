(function_declaration) @d.function
(method_declaration) @d.method
(type_spec type: (struct_type)) @d.struct
(type_spec type: (interface_type)) @d.interface
(type_spec type: [(type_identifier) (qualified_type) (pointer_type) (function_type) (map_type) (slice_type) (array_type) (channel_type) (generic_type)]) @d.type
(type_alias) @d.type
(method_elem) @d.method
(field_declaration name: (field_identifier) @n.field)

(call_expression function: [(identifier) (selector_expression)] @r.call)
(composite_literal type: [(type_identifier) (qualified_type)] @r.type)
(parameter_declaration type: [(type_identifier) (qualified_type)] @r.type)
(parameter_declaration type: (pointer_type [(type_identifier) (qualified_type)] @r.type))
(field_declaration name: (_) type: [(type_identifier) (qualified_type)] @r.type)
(field_declaration name: (_) type: (pointer_type [(type_identifier) (qualified_type)] @r.type))
(field_declaration !name type: [(type_identifier) (qualified_type)] @r.inherit)
(field_declaration !name "*" type: (_) @r.inherit)
(interface_type (type_elem (type_identifier) @r.inherit))
(function_declaration result: [(type_identifier) (qualified_type)] @r.type)
(method_declaration result: [(type_identifier) (qualified_type)] @r.type)

(import_spec) @import
