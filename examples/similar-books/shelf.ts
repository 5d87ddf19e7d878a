/** Titles and descriptions, by the books' ids. */
export type Shelf = Readonly<Record<string, readonly [title: string, description: string]>>

/** Some old books, and what they are about in our words. */
export const shelf: Shelf = {
  'moby-dick': [
    'Moby-Dick',
    'A captain hunts a white whale across the oceans. The whaling ship sinks, and one sailor survives the sea.',
  ],
  'sea-wolf': [
    'The Sea-Wolf',
    'A castaway is picked up by a brutal captain whose ship hunts seals. He has to become a sailor to survive at sea.',
  ],
  'treasure-island': [
    'Treasure Island',
    'A boy finds a map and sails with pirates to an island where a treasure is buried. The ship’s cook leads a mutiny.',
  ],
  'robinson-crusoe': [
    'Robinson Crusoe',
    'A sailor survives a shipwreck and lives alone on an island for many years, until a ship saves him.',
  ],
  'twenty-thousand-leagues': [
    'Twenty Thousand Leagues under the Sea',
    'A captain travels below the oceans in a submarine ship. A scientist is his prisoner and sees the wonders of the sea.',
  ],
  'mysterious-island': [
    'The Mysterious Island',
    'Prisoners flee in a balloon and are stranded on an island. An unknown captain with a submarine helps them to survive.',
  ],
  'time-machine': [
    'The Time Machine',
    'A scientist builds a machine that travels through time and sees the distant future of mankind.',
  ],
  'invisible-man': [
    'The Invisible Man',
    'A scientist makes himself invisible, cannot undo the experiment, and terrifies a village.',
  ],
  frankenstein: [
    'Frankenstein',
    'A young scientist creates a living creature in an experiment. The lonely monster takes revenge and murders.',
  ],
  'jekyll-and-hyde': [
    'Strange Case of Dr Jekyll and Mr Hyde',
    'A doctor drinks a potion of an experiment and turns into a monster that murders at night in London.',
  ],
  dracula: [
    'Dracula',
    'A vampire leaves his castle for London and drinks blood at night. A doctor and his friends hunt the monster.',
  ],
  'war-of-the-worlds': [
    'The War of the Worlds',
    'Invaders from Mars land near London with fighting machines. Mankind flees, and the invaders die of bacteria.',
  ],
  'study-in-scarlet': [
    'A Study in Scarlet',
    'A detective and a doctor meet in London and solve a murder. The trail leads to an old revenge.',
  ],
  'hound-of-the-baskervilles': [
    'The Hound of the Baskervilles',
    'A detective solves the murder of an heir whose family is haunted by a monstrous hound on the moor.',
  ],
  moonstone: [
    'The Moonstone',
    'A diamond is stolen from a house in the night. A detective suspects the servants and the family.',
  ],
  'pride-and-prejudice': [
    'Pride and Prejudice',
    'Five sisters look for husbands. One refuses a proud gentleman, and learns to love him before the marriage.',
  ],
  emma: [
    'Emma',
    'A rich young woman arranges the marriage of her friends, and does not see that she is in love with a gentleman herself.',
  ],
  'sense-and-sensibility': [
    'Sense and Sensibility',
    'Two sisters lose their house and fall in love. One hides her feelings, the other one trusts a false gentleman.',
  ],
  'jane-eyre': [
    'Jane Eyre',
    'An orphan becomes a governess in the house of a gentleman. Before the marriage she learns of the wife whom he hides.',
  ],
  'wuthering-heights': [
    'Wuthering Heights',
    'An orphan grows up in a house on the moor. His love is refused, and he takes revenge on two families.',
  ],
  'oliver-twist': [
    'Oliver Twist',
    'An orphan flees to London and falls among thieves, who teach boys to steal. A rich gentleman saves him.',
  ],
  'great-expectations': [
    'Great Expectations',
    'An orphan helps a convict, and later becomes rich by an unknown friend in London. The woman he loves refuses him.',
  ],
}

/** Those that come later. */
export const newBooks: Shelf = {
  'in-the-south-seas': [
    'In the South Seas',
    'A ship sails from island to island. The writer travels on the ocean, meets sailors, and survives a storm at sea.',
  ],
  'sign-of-four': [
    'The Sign of the Four',
    'A detective and a doctor solve a murder in London. The trail leads to a stolen treasure.',
  ],
  persuasion: [
    'Persuasion',
    'A woman once refused the marriage with a captain. He comes back rich, and both are still in love.',
  ],
}
