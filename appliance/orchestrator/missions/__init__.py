"""Missions: a goal about some repositories, worked on by a coordinator and its juniors, every step on record."""
