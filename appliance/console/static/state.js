// A state on the page: an icon and a word, never a colour alone. The templates stand in the page.

/** Show *word* beside the mark of *mood* (live, good, warn, idle, bad) in *place*. */
export function show(place, mood, word) {
  if (place.dataset.mood !== mood) {
    place.dataset.mood = mood;
    place.replaceChildren(document.getElementById(`state-${mood}`).content.firstElementChild.cloneNode(true));
  }
  place.querySelector("[data-slot=word]").textContent = word;
}
