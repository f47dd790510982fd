(function_definition) @d.function
(declaration declarator: (function_declarator)) @d.prototype
(declaration declarator: (pointer_declarator declarator: (function_declarator))) @d.prototype
(declaration declarator: (reference_declarator (function_declarator))) @d.prototype
(field_declaration declarator: (function_declarator)) @d.method
(field_declaration declarator: (pointer_declarator declarator: (function_declarator))) @d.method
(field_declaration declarator: (reference_declarator (function_declarator))) @d.method
(field_declaration declarator: (field_identifier)) @d.field
(class_specifier name: (_) body: (_)) @d.class
(struct_specifier name: (_) body: (_)) @d.struct
(union_specifier name: (_) body: (_)) @d.struct
(enum_specifier name: (_) body: (_)) @d.enum
(enumerator) @d.constant
(namespace_definition name: (_)) @d.namespace
(type_definition) @d.type
(alias_declaration) @d.type
(concept_definition) @d.type
(preproc_def) @d.macro
(preproc_function_def) @d.macro


(call_expression function: [(identifier) (field_expression) (qualified_identifier)] @r.call)
(call_expression function: (template_function name: (identifier) @r.call))
(new_expression type: [(type_identifier) (qualified_identifier)] @r.call)
(base_class_clause [(type_identifier) (qualified_identifier)] @r.inherit)
(base_class_clause (template_type name: (_) @r.inherit))
(declaration type: [(type_identifier) (qualified_identifier)] @r.type)
(parameter_declaration type: [(type_identifier) (qualified_identifier)] @r.type)
(field_declaration type: [(type_identifier) (qualified_identifier)] @r.type)
(template_type name: (type_identifier) @r.type)
(type_descriptor type: (type_identifier) @r.type)

(preproc_include) @import
(using_declaration) @import
