"""The whole appliance, driven as people drive it."""
