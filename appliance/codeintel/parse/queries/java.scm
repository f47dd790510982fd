(class_declaration) @d.class
(record_declaration) @d.class
(interface_declaration) @d.interface
(annotation_type_declaration) @d.interface
(enum_declaration) @d.enum
(enum_constant) @d.constant
(method_declaration) @d.method
(annotation_type_element_declaration) @d.method
(constructor_declaration) @d.constructor
(compact_constructor_declaration) @d.constructor
(field_declaration declarator: (variable_declarator) @d.field)
(constant_declaration declarator: (variable_declarator) @d.constant)
(record_declaration parameters: (formal_parameters (formal_parameter name: (identifier) @n.field)))
(record_declaration parameters: (formal_parameters (spread_parameter (variable_declarator) @d.field)))

(method_invocation) @r.invocation
(object_creation_expression type: [(type_identifier) (scoped_type_identifier)] @r.call)
(object_creation_expression type: (generic_type . [(type_identifier) (scoped_type_identifier)] @r.call))
(method_reference) @r.call
(superclass [(type_identifier) (scoped_type_identifier)] @r.inherit)
(superclass (generic_type . (_) @r.inherit))
(super_interfaces (type_list [(type_identifier) (scoped_type_identifier)] @r.inherit))
(super_interfaces (type_list (generic_type . (_) @r.inherit)))
(extends_interfaces (type_list [(type_identifier) (scoped_type_identifier)] @r.inherit))
(extends_interfaces (type_list (generic_type . (_) @r.inherit)))
(formal_parameter type: [(type_identifier) (scoped_type_identifier)] @r.type)
(local_variable_declaration type: [(type_identifier) (scoped_type_identifier)] @r.type)
(field_declaration type: [(type_identifier) (scoped_type_identifier)] @r.type)
(method_declaration type: [(type_identifier) (scoped_type_identifier)] @r.type)
(generic_type . [(type_identifier) (scoped_type_identifier)] @r.type)
(type_arguments [(type_identifier) (scoped_type_identifier)] @r.type)
(marker_annotation name: (_) @r.name)
(annotation name: (_) @r.name)

(import_declaration) @import
