(class_definition) @d.class
(object_definition) @d.class
(trait_definition) @d.trait
(enum_definition) @d.enum
(simple_enum_case) @d.constant
(full_enum_case) @d.constant
(function_definition) @d.function
(function_declaration) @d.function
(type_definition) @d.type
(package_object) @d.module
(template_body (val_definition pattern: (identifier)) @d.property)
(template_body (var_definition pattern: (identifier)) @d.property)

(call_expression function: [(identifier) (field_expression)] @r.call)
(call_expression function: (generic_function function: [(identifier) (field_expression)] @r.call))
(instance_expression (type_identifier) @r.call)
(extends_clause (type_identifier) @r.inherit)
(extends_clause (generic_type type: (type_identifier) @r.inherit))
(parameter type: (type_identifier) @r.type)
(class_parameter type: (type_identifier) @r.type)
(function_definition return_type: (type_identifier) @r.type)
(generic_type type: (type_identifier) @r.type)
(type_arguments (type_identifier) @r.type)
(annotation name: (_) @r.name)

(import_declaration) @import
