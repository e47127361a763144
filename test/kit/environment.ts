/** An environment in which a process connects to local servers directly. */
export function withoutProxies(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !/proxy$/i.test(name)));
}
