(function_definition) @d.function
(declaration declarator: (function_declarator)) @d.prototype
(declaration declarator: (pointer_declarator declarator: (function_declarator))) @d.prototype
(struct_specifier name: (_) body: (_)) @d.struct
(union_specifier name: (_) body: (_)) @d.struct
(enum_specifier name: (_) body: (_)) @d.enum
(enumerator) @d.constant
(type_definition) @d.type
(preproc_def) @d.macro
(preproc_function_def) @d.macro


(call_expression function: [(identifier) (field_expression)] @r.call)
(declaration type: (type_identifier) @r.type)
(parameter_declaration type: (type_identifier) @r.type)
(field_declaration type: (type_identifier) @r.type)
(struct_specifier name: (type_identifier) @r.type !body)

(preproc_include) @import
