(struct_item) @d.struct
(union_item) @d.struct
(enum_item) @d.enum
(trait_item) @d.trait
(type_item) @d.type
(mod_item body: (_)) @d.module
(impl_item) @scope
(function_item) @d.function
(function_signature_item) @d.function
(macro_definition) @d.macro
(const_item) @d.constant
(static_item) @d.variable
(enum_variant) @d.constant
(field_declaration) @d.field


(call_expression function: [(identifier) (field_expression) (scoped_identifier)] @r.call)
(call_expression function: (generic_function function: [(identifier) (field_expression) (scoped_identifier)] @r.call))
(macro_invocation macro: [(identifier) (scoped_identifier)] @r.call)
(struct_expression name: [(type_identifier) (scoped_type_identifier)] @r.type)
(impl_item trait: [(type_identifier) (scoped_type_identifier)] @r.inherit)
(impl_item trait: (generic_type type: (_) @r.inherit))
(parameter type: [(type_identifier) (scoped_type_identifier)] @r.type)
(reference_type type: [(type_identifier) (scoped_type_identifier)] @r.type)
(generic_type type: [(type_identifier) (scoped_type_identifier)] @r.type)
(type_arguments [(type_identifier) (scoped_type_identifier)] @r.type)
(function_item return_type: [(type_identifier) (scoped_type_identifier)] @r.type)
(field_declaration type: [(type_identifier) (scoped_type_identifier)] @r.type)

(use_declaration) @import
(mod_item !body) @import
(extern_crate_declaration) @import
