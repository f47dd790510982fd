"""What is carried in: a folder of files under signatures, judged, staged and switched to with no network and no clock."""
