(class_definition) @d.class
(function_definition) @d.function
(class_definition body: (block (expression_statement (assignment left: (identifier)) @d.variable)))
(class_definition body: (block (expression_statement (assignment left: (pattern_list (identifier) @n.variable)))))
(type_alias_statement left: (type (identifier) @n.type))

(function_definition body: (block . (expression_statement (string) @doc)))
(class_definition body: (block . (expression_statement (string) @doc)))

(decorated_definition) @decorated

(call function: [(identifier) (attribute)] @r.call)
(decorator [(identifier) (attribute)] @r.name)
(class_definition superclasses: (argument_list [(identifier) (attribute)] @r.inherit))
(class_definition superclasses: (argument_list (subscript value: [(identifier) (attribute)] @r.inherit)))
(type [(identifier) (attribute)] @r.type)
(type (generic_type (identifier) @r.type))
(type (subscript value: [(identifier) (attribute)] @r.type))
(type (binary_operator [(identifier) (attribute)] @r.type))

(import_statement) @import
(import_from_statement) @import
