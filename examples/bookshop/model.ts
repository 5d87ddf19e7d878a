// The heavy work elsewhere: a language model behind HTTP. It takes a list of texts and gives each one's mood. When it is asked
// for too much it says so. Prints its address, and a line for each call.
//
//   npx node examples/bookshop/model.ts 9470

import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import model from 'wink-eng-lite-web-model'
import winkNLP from 'wink-nlp'

const nlp = winkNLP(model)

let calls = 0
const server = createServer((request, response) => {
  void (async () => {
    const texts = (await json(request)) as readonly string[]
    calls += 1
    // At first, and now and then, it has too much to do.
    const isBusy = calls % 4 === 1
    if (isBusy) response.writeHead(429, { 'retry-after': '1' }).end()
    else response.end(JSON.stringify(texts.map((text) => nlp.readDoc(text).out(nlp.its.sentiment))))
    console.log(isBusy ? 'busy' : `answered ${texts.length}`)
  })()
})
server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => {
  const address = server.address()
  if (typeof address === 'object') console.log(`http://127.0.0.1:${address?.port}/moods`)
})
// Where another process has started it with a channel, it ends together with that one.
process.on('disconnect', () => process.exit())
