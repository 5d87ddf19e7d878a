// The heavy work elsewhere: a language model behind HTTP. It takes a list of texts and gives each one's mood. When it is asked
// for too much it says so. Prints its address.

import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import model from 'wink-eng-lite-web-model'
import winkNLP from 'wink-nlp'

const nlp = winkNLP(model)

let served = 0
const server = createServer((request, response) => {
  void (async () => {
    const texts = (await json(request)) as readonly string[]
    served += 1
    // At first, and now and then, it has too much to do.
    if (served % 3 === 1) return response.writeHead(429, { 'retry-after': '1' }).end()
    response.end(JSON.stringify(texts.map((text) => nlp.readDoc(text).out(nlp.its.sentiment))))
  })()
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (typeof address === 'object') console.log(`http://127.0.0.1:${address?.port}/moods`)
})
