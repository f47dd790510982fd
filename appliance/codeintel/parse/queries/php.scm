(class_declaration) @d.class
(interface_declaration) @d.interface
(trait_declaration) @d.trait
(enum_declaration) @d.enum
(enum_case) @d.constant
(namespace_definition name: (_)) @d.namespace
(function_definition) @d.function
(method_declaration) @d.method
(const_element . (name) @n.constant)
(property_element) @d.property

(function_call_expression function: [(name) (qualified_name)] @r.call)
(member_call_expression) @r.invocation
(nullsafe_member_call_expression) @r.invocation
(scoped_call_expression) @r.invocation
(object_creation_expression [(name) (qualified_name)] @r.call)
(base_clause [(name) (qualified_name)] @r.inherit)
(class_interface_clause [(name) (qualified_name)] @r.inherit)
(use_declaration [(name) (qualified_name)] @r.inherit)
(named_type [(name) (qualified_name)] @r.type)

(namespace_use_declaration) @import
(include_expression) @import
(include_once_expression) @import
(require_expression) @import
(require_once_expression) @import
