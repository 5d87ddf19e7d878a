import model from 'wink-eng-lite-web-model'
import winkNLP, { type ItsFunction } from 'wink-nlp'

const nlp = winkNLP(model)
// Its own types have this one wrong.
const lemma = nlp.its.lemma as ItsFunction<unknown> as ItsFunction<string>
const telling = new Set(['NOUN', 'PROPN', 'VERB', 'ADJ', 'ADV'])

/** The words of an English text that say something, as lemmas: "were broken" is "break". The language model knows which. */
export function tellingWords(text: string): string[] {
  const tokens = nlp.readDoc(text).tokens()
  return tokens.filter((token) => telling.has(token.out(nlp.its.pos))).out(lemma)
}
