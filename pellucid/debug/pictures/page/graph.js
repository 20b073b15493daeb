// The page of one graph.
const pageData = JSON.parse(document.getElementById("data").textContent);
const graphView = new GraphView(document.getElementById("graph"), pageData.graph);
const stepPlayer = pageData.steps ? new StepPlayer(graphView, pageData.steps, pageData.sources || {}) : null;
const sliders = stepPlayer && pageData.program ? addSliders(stepPlayer, pageData.program) : null;
