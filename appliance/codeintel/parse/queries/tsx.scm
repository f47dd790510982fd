(jsx_opening_element name: [(identifier) (member_expression)] @r.call)
(jsx_self_closing_element name: [(identifier) (member_expression)] @r.call)
